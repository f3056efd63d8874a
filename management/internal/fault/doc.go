// Package fault is for the packages beside it that judge what somebody sent:
// package management turns their errors into its own.
package fault
