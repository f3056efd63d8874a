package features

import (
	"net/http"

	"github.com/flagstaff-go/flagstaff/management"
	"github.com/flagstaff-go/flagstaff/server/console/shell"
	"github.com/flagstaff-go/flagstaff/server/console/shell/forms"
)

var featuresScreen = shell.Screen{
	Title: "Early access", Entry: 6, Go: "a", Path: "/features",
	Icon:  "M8 1.6 9.9 5.6l4.4.6-3.2 3.1.8 4.4L8 11.6l-3.9 2.1.8-4.4L1.7 6.2l4.4-.6Z",
	Scope: shell.InProject, Pages: map[string]shell.Page{"GET /projects/{project}/features": listFeatures},
}

// featuresView is the list of early access features.
type featuresView struct {
	shell.Layout
	Rows []*management.EarlyAccessView
	shell.Pager
	Empty bool
	stages
}

// stages say what a stage means. Templates ask for it.
type stages struct{}

func (stages) StageOf(stage string) stageView { return stageOf(stage) }

// A stageView is a stage of an early access feature.
type stageView struct {
	Label, Class, Means string
	Released            bool // persons can enrol
}

// featureStages are the stages in the order in which features go through them.
var featureStages = forms.Options(
	"draft", "Draft", "concept", "Concept", "alpha", "Alpha", "beta", "Beta",
	"general-availability", "General availability", "archived", "Archived",
)

// stageOf says what a stage means.
func stageOf(stage string) stageView {
	v := stageView{
		Label: forms.LabelOf(featureStages, stage, stage),
		Means: "Persons cannot enrol; the condition sets of the flag decide alone.",
	}
	switch stage {
	case "alpha", "beta", "general-availability":
		v.Released, v.Class = true, "good"
		v.Means = "Persons can enrol. Those who have get the flag, whatever its condition sets say; those who have opted out do not."
	case "concept":
		v.Means = "Programs can show it and collect who is interested. The condition sets of the flag decide alone."
	}
	return v
}

func featurePath(q *shell.Request, id string) string { return q.ProjectPath("/features/" + id) }

func listFeatures(q *shell.Request) error {
	page := shell.PageNumber(q.Form)
	found, err := q.Service.ListEarlyAccessFeatures(q.Context(), q.By, q.Ref, shell.PageSize, (page-1)*shell.PageSize)
	if err != nil {
		return err
	}
	q.Notice()
	v := &featuresView{Empty: found.Total == 0, Rows: found.Items}
	v.Pager = shell.Listing{Path: q.ProjectPath("/features")}.Page(page, shell.PageSize, len(v.Rows), found.Total, "feature", "features")
	return q.Render(http.StatusOK, "features", v)
}
