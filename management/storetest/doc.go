// Package storetest is the contract of stores: what package management and the
// sinks and stores of packages capture and server promise, as tests that every
// implementation runs.
package storetest
