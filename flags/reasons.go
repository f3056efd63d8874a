package flags

import "strconv"

// A failCode says why a flag failed; 0 says that it did not.
type failCode uint8

const (
	failFlagData failCode = iota + 1
	failCohortNotFound
	failCohortCycle
	failCohortData
	failOverrides
	failCodes = iota
)

var failures = [...]Reason{
	failFlagData:       {ErrorFlagData, -1, "Failed to parse flag data"},
	failCohortNotFound: {errorCohortNotFound, -1, "Cohort dependency not found"},
	failCohortCycle:    {errorCohortCycle, -1, "Cohort dependency cycle detected"},
	failCohortData:     {ErrorCohortData, -1, "Failed to parse cohort filters"},
	failOverrides:      {ErrorOverrides, -1, "Failed to fetch hash key override for experience continuity"},
}

// A reason is a number into Snapshot.reasons. First come the reasons without a
// condition index, or with a fixed one, then all reasonKinds for each index.
const (
	reasonNoGroupNull = iota
	reasonSuper
	reasonHeldOut
	reasonDisabled
	reasonMissing
	reasonNoRule
	reasonGroupMissing
	reasonRuleError // this reason and those below are of failed results, see isFailure
	reasonRuleDependency
	reasonFailed0 // of failCode 1; the other codes follow
	reasonIndexed = reasonFailed0 + failCodes
)

// A reasonKind is a reason that has a condition index.
type reasonKind int32

const (
	reasonMatch reasonKind = iota
	reasonOut
	reasonNo
	reasonNoBehavioral // reasonNo with another text
	reasonNoGroupGiven // reasonNo with another text
	reasonNoGroup
	reasonRuleMatch
	reasonRuleSplit
	reasonRuleMiss
	reasonRulePaused
	reasonRuleHeldOut
	reasonKinds
)

// isFailure reports whether a result with the reason is a failed one.
func isFailure(reason int32) bool {
	return uint32(reason-reasonRuleError) < reasonIndexed-reasonRuleError
}

func reasonFailed(c failCode) int32 { return reasonFailed0 + int32(c) - 1 }

func reasonAt(k reasonKind, index int32) int32 {
	return reasonIndexed + index*int32(reasonKinds) + int32(k)
}

const (
	textNo           = "No matching condition set"
	textNoBehavioral = "This condition targets a behavioral or realtime cohort. Its membership is not fully evaluated here, so this result can differ from the cohort's member list."
	textNoGroupGiven = "No matching condition set (group conditions were not evaluated because no group type was provided)"
	textOut          = "Out of rollout bound"
	textNoGroup      = "No group type"
)

// allReasons returns the reasons of flags with up to n condition sets
// (evaluation.md §3.7), by their numbers.
func allReasons(n int) []Reason {
	all := make([]Reason, 0, reasonIndexed+n*int(reasonKinds))
	all = append(all,
		Reason{ReasonNoGroupType, -1, textNoGroup},
		Reason{ReasonSuperCondition, 0, "Super condition value"},
		Reason{ReasonHoldout, -1, "Holdout condition value"},
		Reason{ReasonFlagDisabled, -1, "Feature flag is disabled"},
		Reason{ReasonMissingFlag, -1, "Flag cannot be evaluated due to missing dependency"},
		Reason{codeNoRule, -1, "No rule matched"},
		Reason{ReasonNoGroupKey, -1, "The request does not name the group"},
		Reason{codeError, -1, "A rule could not be evaluated"},
		Reason{codeDependencyError, -1, "A flag that a rule depends on could not be evaluated"})
	all = append(all, failures[1:]...)
	for i := range n {
		all = append(all,
			Reason{ReasonConditionMatch, i, "Matched condition set " + strconv.Itoa(i+1)},
			Reason{ReasonOutOfRollout, i, textOut},
			Reason{ReasonNoConditionMatch, i, textNo},
			Reason{ReasonNoConditionMatch, i, textNoBehavioral},
			Reason{ReasonNoConditionMatch, i, textNoGroupGiven},
			Reason{ReasonNoGroupType, i, textNoGroup},
			Reason{codeTargeting, i, "Matched rule " + strconv.Itoa(i+1)},
			Reason{codeSplit, i, "Matched rule " + strconv.Itoa(i+1)},
			Reason{codeRolloutMiss, i, "Rule " + strconv.Itoa(i+1) + " rollout miss"},
			Reason{codePaused, i, "Rule " + strconv.Itoa(i+1) + " is paused"},
			Reason{codeRuleHoldout, i, "Rule " + strconv.Itoa(i+1) + " holdout"})
	}
	return all
}
