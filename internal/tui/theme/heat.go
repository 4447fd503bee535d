package theme

import "strconv"

// heatStyles builds the shades of a heat map from coolest to hottest. With 16
// colours or none the density glyph alone carries the value.
func heatStyles(o Options) []Style {
	if o.Depth < Colors256 {
		return make([]Style, len(unicodeGlyphs.Shade))
	}
	// One hue that grows towards red, out of the 6×6×6 cube of xterm's palette.
	steps := []int{30, 37, 71, 178, 196}
	if o.Light {
		steps = []int{153, 74, 71, 172, 160}
	}
	styles := make([]Style, len(steps))
	for i, c := range steps {
		styles[i] = sgr("38;5;" + strconv.Itoa(c))
	}
	return styles
}

// HeatSteps is the number of shades that Heat tells apart.
func (t *Theme) HeatSteps() int { return len(t.heat) }

// Heat returns the style and the one-cell glyph of a step.
func (t *Theme) Heat(step int) (Style, string) {
	step = max(0, min(step, len(t.heat)-1))
	return t.heat[step], t.Shade[step]
}
