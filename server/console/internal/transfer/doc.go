// Package transfer has the screens that import and export definitions.
package transfer
