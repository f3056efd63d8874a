// Package diff says what a change of flag definitions does to users: [Compare] evaluates all
// flags before and after it for a number of subjects and reports for whom they differ, and
// why. Values come from package flags (docs/spec/evaluation.md).
package diff
