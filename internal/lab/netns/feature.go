package netns

import (
	"fmt"

	"github.com/safchain/ethtool"
)

// NtupleFilters reads whether an interface of this network namespace can sort flows to queues by
// filters, and whether it does (ethtool -k, rx-ntuple-filter).
func NtupleFilters(nic string) (has, on bool, err error) {
	e, err := ethtool.NewEthtool()
	if err != nil {
		return false, false, fmt.Errorf("read the features of %s: %w", nic, err)
	}
	defer e.Close()
	features, err := e.FeaturesWithState(nic)
	if err != nil {
		return false, false, fmt.Errorf("read the features of %s: %w", nic, err)
	}
	is := features["rx-ntuple-filter"]
	return is.Available && !is.NeverChanged, is.Active, nil
}
