// Package charts draws bars and columns as SVG, which pages without inline styles can show.
package charts
