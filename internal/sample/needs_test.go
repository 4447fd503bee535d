package sample

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"

	"piton/internal/kernel"
)

func TestEveryNeedCounts(t *testing.T) {
	typ := reflect.TypeFor[Needs]()
	for i := range typ.NumField() {
		var n Needs
		switch f := reflect.ValueOf(&n).Elem().Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Slice:
			f.Set(reflect.ValueOf([]kernel.TID{1}))
		default:
			f.SetInt(1)
		}
		assert.False(t, n.Equal(Needs{}), typ.Field(i).Name)
		assert.True(t, n.Equal(n))
	}
}
