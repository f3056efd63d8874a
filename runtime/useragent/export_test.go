package useragent

var Safely = safely
