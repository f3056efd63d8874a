// Package features has the screens of early access features.
package features
