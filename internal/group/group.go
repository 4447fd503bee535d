// Package group puts together what is alike, and makes one list of another. Start at By.
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

// Each is what becomes of each.
func Each[T, U any](all []T, of func(T) U) (out []U) {
	for _, one := range all {
		out = append(out, of(one))
	}
	return out
}
