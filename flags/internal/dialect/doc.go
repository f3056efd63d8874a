// Package dialect compares properties as other products do, whose flags were imported (rules.md
// §9.4). A filter with a dialect has the operator and the value of that product, and what an
// absent property, another type, a number, a date, a version or a letter in another case means
// is what it means there.
package dialect
