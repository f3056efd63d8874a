// Package tour leads who has not made a flag yet through four steps, by doing them.
package tour
