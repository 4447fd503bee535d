package netns

import (
	"fmt"

	"github.com/safchain/ethtool"
)

// NtupleFilters reads whether an interface of this network namespace can sort flows to queues by
// filters, and whether it does (ethtool -k, rx-ntuple-filter).
func NtupleFilters(nic string) (has, on bool, err error) {
	all, err := features(nic)
	is := all["rx-ntuple-filter"]
	return is.Available && !is.NeverChanged, is.Active, err
}

// features are what an interface of the calling thread's network namespace can do, by their
// names in ethtool -k.
func features(nic string) (all map[string]ethtool.FeatureState, err error) {
	e, err := ethtool.NewEthtool()
	if err == nil {
		defer e.Close()
		all, err = e.FeaturesWithState(nic)
	}
	if err != nil {
		return nil, fmt.Errorf("read the features of %s: %w", nic, err)
	}
	return all, nil
}
