# What the board has is what was placed.


def is_free(digits, cell, digit):
    digits[cell] = digit
    row, column = divmod(cell, 9)
    for i in range(9):
        box = (row // 3 * 3 + i // 3) * 9 + column // 3 * 3 + i % 3
        for other in (row * 9 + i, i * 9 + column, box):
            if other != cell and digit != 0 and digits.get(other) == digit:
                print("%d does not fit into cell %d: cell %d has it" % (digit, cell, other))
                return False
    return True
