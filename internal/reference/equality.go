package reference

// equal implements exact of §4.4. The filter value f is not null.
func (c comparison) equal(f, p any) bool {
	list, isArray := f.([]any)
	if c.matchingVersion == 2 {
		if isArray && len(list) == 0 {
			return truthy(f) == truthy(p)
		}
	} else if boolish(f) {
		return truthy(f) == truthy(p)
	}
	if !isArray {
		list = []any{f}
	}
	for _, element := range list {
		if lower(valueText(element)) == lower(valueText(p)) {
			return true
		}
	}
	return false
}

// boolish is the condition of the truthiness rule in §4.4.
func boolish(f any) bool {
	switch v := f.(type) {
	case bool:
		return true
	case string:
		return lower(v) == "true" || lower(v) == "false"
	case []any:
		for _, element := range v {
			if !boolish(element) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// truthy is defined beside boolish in §4.4.
func truthy(x any) bool {
	switch v := x.(type) {
	case bool:
		return v
	case string:
		return lower(v) == "true"
	case []any:
		for _, element := range v {
			if !truthy(element) {
				return false
			}
		}
		return true
	default:
		return false
	}
}
