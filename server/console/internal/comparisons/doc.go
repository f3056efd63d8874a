// Package comparisons lists the operators of filters as people choose them.
package comparisons
