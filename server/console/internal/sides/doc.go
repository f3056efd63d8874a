// Package sides shows two things side by side, field by field.
package sides
