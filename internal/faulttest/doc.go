// Package faulttest has one wrong value for each field of a flag and of a survey, with
// what is said of it and where. The tests of the API, of the console and of the command
// line send all of them; other tests hold the tables to the fields that there are.
package faulttest
