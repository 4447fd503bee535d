package overwriter

// What the tests of another package need of this one.
var IrqbalanceWhy = daemons[0].why
