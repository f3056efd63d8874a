// Package flipt converts the features of Flipt, as its files and exports have them
// (features.yaml, written as JSON).
package flipt
