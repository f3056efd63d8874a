package check

// A Warning says what is allowed in a value that was written, and perhaps not meant.
type Warning struct {
	Code   string `json:"code"`   // for programs
	Detail string `json:"detail"` // for people
	Attr   string `json:"attr"`   // its place, with "__" between the steps, such as filters__rules__1
}
