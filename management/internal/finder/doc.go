// Package finder looks in texts for what users type.
package finder
