package overwriter

// What the tests of another package need of this one.
const ManyProcesses = manyProcesses

var IrqbalanceWhy = daemons[0].why
