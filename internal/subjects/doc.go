// Package subjects draws random subjects for definitions, so that two versions of them can be
// compared: each branch of a condition set has a chance to be met. An import proves with them
// that flags keep their values, and the command diff counts who gets other ones.
package subjects
