package management

var Finder = textFinder
