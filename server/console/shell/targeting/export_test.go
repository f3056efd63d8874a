package targeting

// OperatorNames returns the operators that a form offers for a kind of filter.
func OperatorNames(kind string) (names []string) {
	for _, list := range operatorsOf(kind) {
		for _, o := range list {
			names = append(names, o.Name)
		}
	}
	return names
}
