package management

// A Page is part of a list.
type Page[T any] struct {
	Total int // of the whole list
	Items []T
}

// Results are a whole list, as the API shows it.
type Results[T any] struct {
	Items []T `json:"results"`
}

// pageOf returns a page of a list.
func pageOf[T any](all []T, limit, offset int) []T {
	all = all[min(max(offset, 0), len(all)):]
	return all[:min(max(limit, 0), len(all))]
}

// each returns f of each element of a list, which is not null in JSON.
func each[T, V any](list []T, f func(*T) V) []V {
	out := make([]V, len(list))
	for i := range list {
		out[i] = f(&list[i])
	}
	return out
}

// byKey returns the elements of a list by a key of theirs. The last one with a key counts.
func byKey[T any, K comparable](list []T, key func(*T) K) map[K]*T {
	out := make(map[K]*T, len(list))
	for i := range list {
		out[key(&list[i])] = &list[i]
	}
	return out
}
