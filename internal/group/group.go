// Package group puts together what is alike. Start at By.
package group

// By puts what has the same key together, in the order of first appearance.
func By[T any, K comparable](all []T, key func(*T) K) [][]T {
	var out [][]T
	index := map[K]int{}
	for i := range all {
		k := key(&all[i])
		at, known := index[k]
		if !known {
			at = len(out)
			index[k], out = at, append(out, nil)
		}
		out[at] = append(out[at], all[i])
	}
	return out
}
