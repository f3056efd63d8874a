// Package converttest is for the tests of the packages that convert documents of other products.
package converttest
