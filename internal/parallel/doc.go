// Package parallel runs functions on several processors, and makes their panics errors.
package parallel
