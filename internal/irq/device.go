package irq

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"piton/internal/kernel"
	"piton/internal/kernel/tree"
	"piton/internal/pattern"
)

// Device is what raises an interrupt. The zero Device is unknown.
type Device struct {
	Address string   // on the PCI bus, "0000:00:03.0"; "" elsewhere
	Driver  string   // "virtio_net", "nvme"
	Names   []string // its interfaces and disks, "eth0", "nvme0n1"; may be none
}

// Name is the device in one word: its interface or disk, else its address.
func (d Device) Name() string {
	if len(d.Names) > 0 {
		return strings.Join(d.Names, ",")
	}
	return d.Address
}

// devices finds the device of a line.
type devices struct {
	fs    FS
	byIRQ map[int]Device
	nets  map[string]string // directory of a device by its interface's name
}

// newDevices walks the PCI bus.
func (f FS) newDevices() *devices {
	d := &devices{fs: f, byIRQ: map[int]Device{}, nets: map[string]string{}}
	bus := f.sys("bus", "pci", "devices")
	for _, address := range list(bus) {
		dir := filepath.Join(bus, address)
		lines := list(filepath.Join(dir, "msi_irqs"))
		if len(lines) == 0 {
			// A line of its own is shared, and left over where MSI is in use.
			lines = []string{strconv.Itoa(readNumber(filepath.Join(dir, "irq"), 0))}
			if lines[0] == "0" || driverOf(dir) == "" {
				continue
			}
		}
		device := describe(dir)
		device.Address = address
		for _, line := range lines {
			n, err := strconv.Atoi(line)
			if err != nil {
				continue
			}
			if old, shared := d.byIRQ[n]; shared {
				d.byIRQ[n] = join(old, device)
				continue
			}
			d.byIRQ[n] = device
		}
	}
	for _, name := range list(f.sys("class", "net")) {
		dir := f.sys("class", "net", name, "device")
		if _, err := tree.Stat(dir); err == nil {
			d.nets[name] = dir
		}
	}
	return d
}

// join is the devices of a shared line.
func join(a, b Device) Device {
	return Device{
		Address: a.Address + "," + b.Address, Driver: a.Driver + "," + b.Driver,
		Names: slices.Concat(a.Names, b.Names),
	}
}

// virtioAction begins the names of the handlers of virtio devices that are on
// no PCI bus.
var virtioAction = pattern.Lazy(`^virtio\d+`)

// of returns the device of a line, by its number, else by its handlers' names.
func (d *devices) of(irq int, actions []string) Device {
	if found, ok := d.byIRQ[irq]; ok {
		return found
	}
	for _, a := range actions {
		if name := virtioAction().FindString(a); name != "" {
			dir := d.fs.sys("bus", "virtio", "devices", name)
			if found := describeOne(dir); found.Driver != "" {
				return found
			}
		}
		for name, dir := range d.nets {
			if a == name || strings.HasPrefix(a, name+"-") || strings.HasPrefix(a, name+":") {
				return Device{Driver: driverOf(dir), Names: []string{name}}
			}
		}
	}
	return Device{}
}

// describe tells a PCI device's driver and names. A virtio device is a child of
// its PCI function, whose own driver is only the transport.
func describe(dir string) Device {
	for _, child := range list(dir) {
		if virtioAction().MatchString(child) {
			if d := describeOne(filepath.Join(dir, child)); d.Driver != "" {
				return d
			}
		}
	}
	return describeOne(dir)
}

func describeOne(dir string) Device {
	d := Device{Driver: driverOf(dir)}
	for _, class := range []string{"net", "block", "nvme", "infiniband"} {
		d.Names = append(d.Names, list(filepath.Join(dir, class))...)
	}
	return d
}

// driverOf is what the link "driver" of a device's directory ends with.
func driverOf(dir string) string {
	to, err := kernel.ReadLink(filepath.Join(dir, "driver"))
	if err != nil {
		return ""
	}
	return filepath.Base(to)
}

// list is the names in a directory, sorted; none if it cannot be read.
func list(dir string) []string {
	names, err := tree.Names(dir)
	if err != nil {
		return nil
	}
	return names
}
