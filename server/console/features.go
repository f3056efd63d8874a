package console

import (
	"net/http"

	"github.com/flagstaff-go/flagstaff/management"
)

var _ = register(screen{
	title: "Early access", entry: 5, path: "/features",
	scope: inProject, pages: map[string]page{"GET /projects/{project}/features": listFeatures},
})

// featuresView is the list of early access features.
type featuresView struct {
	layout
	Rows []*management.EarlyAccessView
	pager
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
var featureStages = options(
	"draft", "Draft", "concept", "Concept", "alpha", "Alpha", "beta", "Beta",
	"general-availability", "General availability", "archived", "Archived",
)

// stageOf says what a stage means.
func stageOf(stage string) stageView {
	v := stageView{Label: labelOf(featureStages, stage, stage), Means: "Persons cannot enrol; the condition sets of the flag decide alone."}
	switch stage {
	case "alpha", "beta", "general-availability":
		v.Released, v.Class = true, "good"
		v.Means = "Persons can enrol. Those who have get the flag, whatever its condition sets say; those who have opted out do not."
	case "concept":
		v.Means = "Programs can show it and collect who is interested. The condition sets of the flag decide alone."
	}
	return v
}

func (q *request) featurePath(id string) string { return q.projectPath("/features/" + id) }

func listFeatures(q *request) error {
	page := pageNumber(q.Form)
	found, err := q.c.Service.ListEarlyAccessFeatures(q.Context(), q.by, q.ref, pageSize, (page-1)*pageSize)
	if err != nil {
		return err
	}
	q.notice()
	v := &featuresView{Empty: found.Total == 0, Rows: found.Items}
	v.pager = listing{path: q.projectPath("/features")}.page(page, pageSize, len(v.Rows), found.Total, "feature", "features")
	return q.render(http.StatusOK, "features", v)
}
