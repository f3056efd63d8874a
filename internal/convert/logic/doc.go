// Package logic builds filters of rules from conditions of other products: filters of which one
// or all must hold, with what is always or never so left out, and conditions that may fail where
// they are neither true nor false.
package logic
