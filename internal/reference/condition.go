package reference

import "slices"

// conditionSubject returns the text that the condition hashes (§2.4). If the
// condition is passed over before its filters are evaluated, skip is the reason
// code (§3.5 steps 2 and 3).
func (e *evaluation) conditionSubject(f *flag, c condition) (subject, skip string) {
	if index := f.conditionAggregation(c); index != nil {
		name, known := e.document.groupTypeName(index)
		key, usable := e.request.groupKey(name)
		if !known || !usable {
			return "", codeNoGroup
		}
		return key, ""
	}
	if f.bucketing == "device_id" {
		if e.deviceID == "" && f.hashMatters(c) {
			return "", codeOutOfRollout // §2.6
		}
		return e.deviceID, "" // empty only where the hash does not matter (§2.6)
	}
	if f.hasContinuity() {
		if override, stored := e.request.Overrides[f.key]; stored {
			return override, ""
		}
		if e.anonymousID != "" {
			return e.anonymousID, ""
		}
	}
	return e.distinctID, ""
}

// hasContinuity is the first rule of §12: the flag must be aggregated by person
// and not bucketed by device.
func (f *flag) hasContinuity() bool {
	return f.continuity && f.aggregation == nil && f.bucketing != "device_id"
}

// holdoutSubject returns the subject of §13.2. It follows the aggregation of
// the flag and ignores stored overrides.
func (e *evaluation) holdoutSubject(f *flag) string {
	switch {
	case f.aggregation != nil:
		name, known := e.document.groupTypeName(f.aggregation)
		key, usable := e.request.groupKey(name)
		if !known || !usable {
			return ""
		}
		return key
	case f.bucketing == "device_id" && e.deviceID != "":
		return e.deviceID
	case f.hasContinuity() && e.anonymousID != "":
		return e.anonymousID
	default:
		return e.distinctID
	}
}

// A verdict is the result of the filters of one condition.
type verdict struct {
	passed     bool
	failure    string // error code; the flag fails unless it was settled before
	taint      string // error code of the first failed dependency that matched only provisionally
	behavioral bool   // a cohort that is not fully known did not match
}

// checkFilters implements §3.5 step 4: flag filters, then property filters,
// then cohort filters, each in stored order, up to the first definite mismatch
// or error.
func (e *evaluation) checkFilters(f *flag, c condition) verdict {
	var flagFilters, propertyFilters, cohortFilters []filter
	for _, candidate := range c.filters {
		switch candidate.kind {
		case typeFlag:
			flagFilters = append(flagFilters, candidate)
		case typeCohort:
			cohortFilters = append(cohortFilters, candidate)
		default:
			propertyFilters = append(propertyFilters, candidate)
		}
	}

	var v verdict
	for _, dependency := range flagFilters {
		if dependency.problem != "" {
			return verdict{failure: codeFlagData}
		}
		matches, failed := e.matchDependency(dependency)
		switch {
		case failed != "" && v.taint == "":
			v.taint = failed
		case failed == "" && !matches:
			return verdict{}
		}
	}
	for _, property := range propertyFilters {
		if property.problem != "" {
			return verdict{failure: codeFlagData}
		}
		if !e.matchProperty(property, f.conditionAggregation(c)) {
			return verdict{}
		}
	}

	// §5.5: all cohorts of the condition are resolved before the first one is
	// evaluated, whatever the operators.
	for _, membership := range cohortFilters {
		id, usable := integerValue(membership.value)
		if !usable {
			return verdict{failure: codeCohortParsing}
		}
		if code := e.document.resolveCohort(id, nil); code != "" {
			return verdict{failure: code}
		}
	}
	for _, membership := range cohortFilters {
		if membership.problem != "" {
			return verdict{failure: codeFlagData}
		}
		id, _ := integerValue(membership.value)
		if !e.matchCohort(membership.operator, id) {
			return verdict{behavioral: e.document.behavioral(id)}
		}
	}
	v.passed = true
	return v
}

// matchProperty looks the property up and compares it.
func (e *evaluation) matchProperty(f filter, aggregation *int64) bool {
	value, present := e.lookUp(f, aggregation)
	return e.compare.match(f.operator, f.value, value, present)
}

// lookUp returns the property that a filter compares. The aggregation of the
// condition is used by group filters that name no group type. Leaves of cohorts
// have no aggregation.
func (e *evaluation) lookUp(f filter, aggregation *int64) (value any, present bool) {
	var properties map[string]any
	switch f.kind {
	case typePerson:
		properties = e.person
	case typePersonMetadata:
		properties = e.metadata
	case typeGroup:
		index := f.groupIndex
		if index == nil {
			index = aggregation
		}
		// §6.3: an index without a group type stands for an empty map.
		if name, known := e.document.groupTypeName(index); known {
			properties = e.request.groupMap(name)
		}
	}
	key, _ := f.key.(string)
	value, present = properties[key]
	return value, present
}

// matchDependency compares the value of another flag (§7). If the other flag
// failed and its value would matter, failed is its error code, and the filter
// matches provisionally (§3.9).
func (e *evaluation) matchDependency(dependency filter) (matches bool, failed string) {
	target, usable := e.document.target(dependency)
	if !usable || dependency.operator != "flag_evaluates_to" {
		return false, ""
	}
	// §7.2: nobody can say what an inactive flag that is broken would be.
	code := codeFlagData
	switch unknown := target.malformed && (!target.active || target.encrypted); {
	case unknown:
	case !slices.Contains(e.included, target):
		return evaluatesTo(dependency.value, false, nil), "" // a target that was filtered out is false (§7.2)
	default:
		result := e.result(target)
		if !result.Failed {
			var variant *string
			if result.HasVariant {
				variant = &result.Variant
			}
			return evaluatesTo(dependency.value, result.Enabled, variant), ""
		}
		code = result.Code
	}
	switch dependency.value.(type) {
	case bool, string:
		return false, code
	default:
		return false, ""
	}
}
