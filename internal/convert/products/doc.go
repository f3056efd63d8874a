// Package products lists the products whose flags can be imported.
package products
