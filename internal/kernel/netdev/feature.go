package netdev

import (
	"fmt"

	"github.com/safchain/ethtool"
)

// Feature is whether a network interface does something by itself.
type Feature struct {
	Has bool // it can, if it is switched on
	On  bool
}

// NtupleFilters reads whether an interface of this network namespace sorts flows to queues
// by filters (ethtool -k, rx-ntuple-filter).
func NtupleFilters(nic string) (Feature, error) {
	e, err := ethtool.NewEthtool()
	if err != nil {
		return Feature{}, fmt.Errorf("read the features of %s: %w", nic, err)
	}
	defer e.Close()
	features, err := e.FeaturesWithState(nic)
	if err != nil {
		return Feature{}, fmt.Errorf("read the features of %s: %w", nic, err)
	}
	is := features["rx-ntuple-filter"]
	return Feature{Has: is.Available && !is.NeverChanged, On: is.Active}, nil
}
