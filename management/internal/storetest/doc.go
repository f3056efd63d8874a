// Package storetest is the contract of stores: what package management and the
// sinks and stores of packages capture and server promise, as tests that run on
// each database.
package storetest
