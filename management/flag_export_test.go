package management

var Finder = finder
