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
