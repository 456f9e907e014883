package people

// DeleteTold forgets which strangers were told.
const DeleteTold = deleteTold
