package console

import (
	"cmp"
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
	"github.com/flagstaff-go/flagstaff/server/console/shell/targeting"
)

var sheetScreen = shell.Screen{
	Scope: shell.InProject, Pages: map[string]shell.Page{"GET /projects/{project}/surveys/preview.css": previewSheet},
}

// A previewView is a survey as a respondent sees it, one screen after the other.
type previewView struct {
	Sheet   string // the address of the style sheet with its colours
	Place   string
	Screens []previewScreen
	Sets    []targeting.ConditionView // whose sentences come with it while the form is edited
}

// A previewScreen is what is seen at once.
type previewScreen struct {
	Where                   string // which screen it is
	Title, Text             string
	Optional, Open          bool
	Placeholder             string
	Round                   bool // one of the choices
	Choices                 []previewChoice
	Ratings                 []previewRating
	Low, High, Link, Button string
}

type previewChoice struct {
	Text string
	Free bool // it is completed by hand
}

// A previewRating is one of the answers to a rating: a number, or a picture that stands for
// it.
type previewRating struct {
	Sign string
	Path string // of the picture; "" for a number
	Turn string // how it is turned
	Face bool   // the path is the mouth of a face
}

// previewOf returns the preview of a survey.
func previewOf(q *shell.Request, doc forms.Object) previewView {
	look := forms.ReadObject(string(doc["appearance"]))
	say := func(name, otherwise string) string { return cmp.Or(forms.Text(look[name]), otherwise) }
	v := previewView{Sheet: q.ProjectPath("/surveys/preview.css")}
	if values := previewColors(look); len(values) > 0 {
		v.Sheet += "?" + values.Encode()
	}
	for _, o := range fieldAt(surveyFields, []string{"appearance", "position"}).Options {
		if o.Value != "" && o.Value == forms.Text(look["position"]) && forms.Text(doc["type"]) != "external_survey" {
			v.Place = o.Label
		}
	}
	questions := questionsOf(doc)
	if string(look["displayIntroScreen"]) == "true" {
		v.Screens = append(v.Screens, previewScreen{
			Where: "First", Title: say("introScreenHeader", "Welcome"),
			Text:   plain(forms.Text(look["introScreenDescription"]), forms.Text(look["introScreenDescriptionContentType"])),
			Button: say("introScreenButtonText", "Start"),
		})
	}
	for i, o := range questions {
		s := previewScreen{
			Where: "Question " + strconv.Itoa(i+1) + " of " + strconv.Itoa(len(questions)), Title: cmp.Or(forms.Text(o["question"]), "…"),
			Text:     plain(forms.Text(o["description"]), forms.Text(o["descriptionContentType"])),
			Optional: string(o["optional"]) == "true", Button: cmp.Or(forms.Text(o["buttonText"]), say("submitButtonText", "Submit")),
		}
		s.answer(o, say("placeholder", "Start typing…"))
		v.Screens = append(v.Screens, s)
	}
	if string(look["displayThankYouMessage"]) == "true" {
		v.Screens = append(v.Screens, previewScreen{
			Where: "Last", Title: say("thankYouMessageHeader", "Thank you for your feedback!"),
			Text:   plain(forms.Text(look["thankYouMessageDescription"]), forms.Text(look["thankYouMessageDescriptionContentType"])),
			Button: say("thankYouMessageCloseButtonText", "Close"),
		})
	}
	return v
}

// answer fills in how a question is answered.
func (s *previewScreen) answer(o forms.Object, placeholder string) {
	switch forms.Text(o["type"]) {
	case "open":
		s.Open, s.Placeholder = true, placeholder
	case "link":
		s.Link = forms.Text(o["link"])
	case "rating":
		s.Low, s.High = forms.Text(o["lowerBoundLabel"]), forms.Text(o["upperBoundLabel"])
		s.Ratings = previewRatings(forms.Text(o["scale"]), forms.Text(o["display"]) == "emoji")
		if forms.Text(o["scale"]) == "2" {
			s.Low, s.High = "", ""
		}
	case "single_choice", "multiple_choice":
		s.Round = forms.Text(o["type"]) == "single_choice"
		choices := forms.Texts(o["choices"])
		for i, c := range choices {
			s.Choices = append(s.Choices, previewChoice{c, i+1 == len(choices) && string(o["hasOpenChoice"]) == "true"})
		}
	}
	if string(o["skipSubmitButton"]) == "true" && (s.Round || s.Ratings != nil) {
		s.Button = ""
	}
}

// faces are the mouths of faces, from the worst to the best, and thumb is a hand.
var faces = []string{"M7.5 17q4.5 -6 9 0", "M8 16q4 -3 8 0", "M8 15.5h8", "M8 14.5q4 3 8 0", "M7.5 13.5q4.5 6 9 0"}

const thumb = "M7 11v9H4v-9zM7 12l4-8c2 0 3 1 2.5 3L13 10h5c2 0 2.500 1.500 2 3l-2 5.500c-.4 1-1 1.500-2 1.500H7"

func previewRatings(scale string, emoji bool) (out []previewRating) {
	most, _ := strconv.Atoi(scale) // the Service says which are scales
	shown := map[string][]string{"3": faces[1:4], "5": faces}[scale]
	switch {
	case scale == "2":
		return []previewRating{{Sign: "thumbs down", Path: thumb, Turn: "rotate(180 12 12)"}, {Sign: "thumbs up", Path: thumb}}
	case emoji && shown != nil:
		for i, face := range shown {
			out = append(out, previewRating{Sign: strconv.Itoa(i + 1), Path: face, Face: true})
		}
		return out
	}
	first := 1
	if scale == "10" {
		first = 0
	}
	for n := first; n <= min(most, 10); n++ {
		out = append(out, previewRating{Sign: strconv.Itoa(n)})
	}
	return out
}

var markup = regexp.MustCompile(`<[^>]*>`)

// plain returns a text as it is read. The preview shows no markup.
func plain(s, contentType string) string {
	if contentType != "html" {
		return s
	}
	return strings.TrimSpace(html.UnescapeString(markup.ReplaceAllString(s, " ")))
}

// The colours of a preview, with what browsers show without them.
var previewVariables = []struct{ query, member, variable, otherwise string }{
	{"bg", "backgroundColor", "--pv-bg", "#eeeded"},
	{"text", "textColor", "--pv-text", ""},
	{"border", "borderColor", "--pv-border", "#c9c6c6"},
	{"button", "submitButtonColor", "--pv-button", "#000"},
	{"label", "submitButtonTextColor", "--pv-label", ""},
	{"rating", "ratingButtonColor", "--pv-rating", "#fff"},
	{"chosen", "ratingButtonActiveColor", "--pv-chosen", "#000"},
}

func previewColors(look forms.Object) url.Values {
	out := make(url.Values)
	for _, p := range previewVariables {
		if color := cssColor(forms.Text(look[p.member])); color != "" {
			out.Set(p.query, color)
		}
	}
	return out
}

var colorForm = regexp.MustCompile(`^(#([0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})|[a-zA-Z]{3,30}|` +
	`(rgb|rgba|hsl|hsla)\([0-9a-z.,%/ ]{1,60}\))$`)

// cssColor returns a colour of CSS, "" for all else.
func cssColor(s string) string {
	if s = strings.TrimSpace(s); colorForm.MatchString(s) {
		return s
	}
	return ""
}

// readable returns black or white, whichever is better to read on a colour.
func readable(color string) string {
	if len(color) == 4 && color[0] == '#' {
		color = "#" + strings.Repeat(color[1:2], 2) + strings.Repeat(color[2:3], 2) + strings.Repeat(color[3:4], 2)
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(color, "#"), 16, 32)
	if color == "black" || err == nil && len(color) == 7 && (n>>16&255)*299+(n>>8&255)*587+(n&255)*114 < 128_000 {
		return "#fff"
	}
	return "#000"
}

// previewSheet answers with the style sheet of a preview: pages have no styles of their own.
func previewSheet(q *shell.Request) error {
	var b strings.Builder
	b.WriteString(".preview {")
	shown := make(map[string]string)
	for _, p := range previewVariables {
		color := cmp.Or(cssColor(q.Form.Get(p.query)), p.otherwise)
		switch {
		case color != "":
		case p.query == "text":
			color = readable(shown["bg"])
		default:
			color = readable(shown["button"])
		}
		shown[p.query] = color
		b.WriteString(" " + p.variable + ": " + color + ";")
	}
	b.WriteString(" --pv-rated: " + readable(shown["rating"]) + "; }\n")
	q.W.Header().Set("Content-Type", "text/css; charset=utf-8")
	return q.Send([]byte(b.String()))
}
