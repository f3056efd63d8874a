// Package convert makes flags with rule sets of the flags of other products. Each user's value
// stays what it is there, bit for bit, or the flag has a problem that says what does not.
//
// A package below this one reads the format of one product. It computes the ends of splits once,
// with the arithmetic of that product, and writes filters in its dialect where the operators of
// Flagstaff compare in another way (rules.md §9).
package convert
