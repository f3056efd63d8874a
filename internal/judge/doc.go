// Package judge judges the filters of flags and the trees of cohorts. It is pure: it
// reads no storage. What it judges is the model of package flags, which a client's JSON was
// read into.
//
//	refs := judge.NewReferences(definitions, zone)
//	err := judge.Strict.CheckFilters(&sent)
//	…
//	filters := stored.Merge(&sent)
//	err = judge.Judge(&filters, judge.Subject{ID: id, Key: key}, refs)
//
// A [Mode] refuses members that nothing knows. [Judge], [JudgeAll] and [JudgeCohort] apply the
// rules, and bring references into the form in which they are stored. What refers to what is
// told by [Dependencies], [Dependents] and [CohortUsers]; [Variants] and [GroupBased]
// look at filters.
//
// # Errors
//
// What is refused is an [Error] about the field filters. Its path says where in the
// filters the fault is; its detail shows the value, and says what is allowed:
//
//	groups/0/rollout_percentage: must be a number from 0 to 100, not 120
//
// There is one error, the first that is found. Payloads are never shown. All other
// errors are failures of the engine, such as package flags without SHA-1.
//
// # What is refused
//
// The rules are in management.md §13.5 and §13.10. After them the linter of
// package flags has the last word: filters that are accepted compile without
// problems at the level of errors. Filters that are stored and cannot be understood
// are refused, whatever they are. Where the rules leave room, this holds:
//
//   - All operators and types of evaluation.md are accepted, also operators and types that
//     management.md does not list: starts_with, ends_with, between, their opposites,
//     and person_metadata.
//   - Every operator but is_set and is_not_set needs a value; gt, gte, lt, lte,
//     between and not_between need numbers, or texts of numbers; starts_with and
//     ends_with need text, as icontains does.
//   - A cohort takes only in and not_in, a flag only flag_evaluates_to.
//   - Flags may be depended on in condition sets about groups, too.
//   - Shares of variants must sum to 100 exactly, but for what float64 does to sums:
//     three times 33.33 is refused.
//   - A payload that is a text must contain JSON: "text" is refused, "\"text\"" is
//     not.
//   - Texts must not contain NUL, which databases refuse, and numbers must fit into
//     float64.
//   - At most 256 KiB as stored; 64 levels of nesting; 1000 condition
//     sets, each with 1000 properties; 500 variants.
//
// # How filters are stored
//
// With all that was sent (management.md §13.5), but for this: min and max become gte and
// lte. Numbers as keys become text. A property of a group gets the group_type_index of its
// condition set. A dependency is stored by the id of the flag, also if a client sent the
// flag's key. super_groups and holdout_groups get feature_enrollment and holdout beside them
// where they mean the same (evaluation.md §3.3, §13.3). What nothing knows is dropped.
//
// # Rule sets
//
// Filters of version 2 are read strictly and judged by rules.md §7; their errors have no
// values, since seeds are secret. [Claim] gives rules the IDs and seeds that are the server's,
// before Judge, and [Warnings] tells what is allowed and perhaps not meant.
//
// # Cost
//
// To judge filters takes time for the filters, for the cohorts that they reach, and
// for the dependencies of the flags that they depend on; the size of the project does
// not matter. [NewReferences] takes a look-up entry for each flag. [Dependents] and
// [CohortUsers] search the project, and so does JudgeCohort when a cohort has
// behavioral criteria.
package judge
