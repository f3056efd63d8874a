// Package forms reads what people type into forms, and writes values as people read them.
package forms
