/// A change to a message, which most often makes it invalid.
struct Damage: CustomStringConvertible {
    /// Dotted paths, and the raw JSON to write there; nil to remove the value.
    let edits: [(path: String, value: String?)]

    /// The damaged message; nil if the damage does not apply.
    func applied(to message: JSON) -> JSON? {
        var message = message
        for (path, value) in edits {
            let replaced = message.replacing(path.split(separator: "."), with: value.map(JSON.literal))
            guard let replaced else { return nil }
            message = replaced
        }
        return message
    }

    var description: String {
        edits.map { "\($0.path): \($0.value.map { String($0.prefix(40)) } ?? "removed")" }.joined(separator: ", ")
    }

    /// One damage for each value at each path.
    static func each(_ values: KeyValuePairs<String, [String?]>) -> [Damage] {
        values.flatMap { path, values in values.map { Damage(edits: [(path, $0)]) } }
    }

    static let tooLong = "\"" + String(repeating: "x", count: 129) + "\""
    // 43 characters, but 129 bytes.
    static let tooManyBytes = "\"" + String(repeating: "가", count: 43) + "\""
    private static let notTexts: [String?] = [nil, "null", "7", "true", "[]", "{}", "\"\"", tooLong]
    private static let item = #"{"juice":"kiwi","quantity":1}"#
    private static let tooManyItems = "[" + Array(repeating: item, count: 21).joined(separator: ",") + "]"
    private static let notObjects: [String?] = [nil, "null", "7", "\"kiwi\"", "[]", "{}"]
    private static let notAmounts: [String?] = ["null", "\"1\"", "true", "1.5", "-1", "[1]"]
}

// MARK: - Commands, about which the service's decoder has the last word

extension Damage {
    static let ofOrders =
        each([
            "orderId": notTexts + [tooManyBytes], "juice": notTexts + ["\"durian\""],
            "quantity": notAmounts + ["0", "1", "100", "101", "1.0", "1e1", "9223372036854775808", nil],
            "note": ["\"ignored\"", "{}"], "add": ["{}"], "restockId": ["7"],
            "cancel": ["true", "false", "null", "0", "1", "\"true\"", "{}", nil],
            "items": ["null", "[]", "{}", "\"kiwi\"", "[7]", "[[]]", tooManyItems, nil],
            "items.0": ["null", "{}", "7"], "items.0.juice": notTexts + ["\"durian\""],
            "items.0.quantity": notAmounts + ["0", "1", "100", "101", nil], "items.0.note": ["1"],
        ]) + [Damage(edits: [("restockId", "\"a\""), ("orderId", nil)])]

    static let ofRestocks =
        each([
            "restockId": notTexts + [tooManyBytes],
            "add": notObjects + [#"{"durian":1}"#, #"{"durian":1.5}"#],
            "set": notObjects + [#"{"durian":1}"#], "note": ["\"ignored\"", "[]"], "orderId": ["7"],
            "quantity": ["0"],
        ])
        + ["add.*", "set.*"].flatMap { path in
            (notAmounts + [
                "0", "1.0", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
            ]).map { Damage(edits: [(path, $0)]) }
        } + [Damage(edits: [("add", nil), ("set", nil)]), Damage(edits: [("add", "null"), ("set", "null")])]
}

// MARK: - What the service writes, none of which it would ever write

extension Damage {
    private static let levels = notAmounts + ["1000000001"]
    private static let ofAllAnswers = each([
        "type": [nil, "\"made\"", "null", "7", "\"\""], "store": notTexts,
        "message": notTexts.dropLast() + [],
        "duplicate": ["false", "null", "\"true\"", "1"], "note": ["1"], "add": ["{}"],
        "cancel": ["false", "null", "1", nil], "offset": notNumbers, "topic": ["\"orders\""],
        "from": ["null", "7", "\"\"", "\"3\"", "\"03/42\"", "\"3/-1\"", "\"3/42 \"", "\"/42\""],
    ])
    private static let notNumbers: [String?] = notAmounts + [nil, "9223372036854775808"]
    private static let ofChanges = each(["revision": notNumbers + ["0"]])
    private static let ofOthers = each(["revision": ["1", "null"]])
    private static let ofOrderAnswers =
        each([
            "orderId": notTexts, "restockId": ["\"a\"", "null"], "juice": notTexts,
            "quantity": notAmounts + ["0", "101", nil], "reason": ["\"badQuantity\""],
            "returned": [#"{"kiwi":1}"#], "items": [nil, "null", "7", "{}", "[]", tooManyItems],
            "items.0": ["null", "7", "{}"], "items.0.juice": notTexts,
            "items.0.quantity": notAmounts + ["0", "2001", nil], "items.0.note": ["1"],
        ]) + [
            Damage(edits: [("orderId", nil), ("restockId", "\"a\"")]),
            // One juice beside items.
            Damage(edits: [("juice", "\"kiwi\""), ("quantity", "1"), ("items", "[\(item)]")]),
        ]

    static let byType = ofAnswers.merging(ofNotes) { first, _ in first }

    private static let ofAnswers: [String: [Damage]] = [
        "juiceMade": ofAllAnswers + ofChanges + ofOrderAnswers
            + each([
                "type": ["\"outOfStock\"", "\"restocked\"", "\"cancelled\"", "\"rejected\""],
                "used": notObjects,
                "used.*": notAmounts + ["0", "1000000001"], "left": notObjects, "left.*": levels,
                "fruit": ["\"kiwi\""], "missing": ["[]"],
            ]),
        "outOfStock": ofAllAnswers + ofOthers + ofOrderAnswers
            + each([
                "type": ["\"juiceMade\"", "\"restocked\"", "\"rejected\""], "fruit": notTexts,
                "missing": notObjects, "missing.0": ["null", "\"kiwi\"", "{}", "[]"],
                "missing.0.fruit": notTexts, "missing.0.needed": notAmounts + ["0", nil],
                "missing.0.inStock": levels + [nil], "missing.0.note": ["1"], "left": ["{}"],
                "used": [#"{"kiwi":1}"#],
            ]),
        "restocked": ofAllAnswers + ofChanges
            + each([
                "type": ["\"juiceMade\"", "\"cancelled\"", "\"rejected\""], "restockId": notTexts,
                "orderId": ["\"a\"", "null"], "left": notObjects, "left.*": levels, "quantity": ["1"],
                "reason": ["\"emptyRestock\""],
            ]) + [Damage(edits: [("restockId", nil), ("orderId", "\"a\"")])],
        "cancelled": ofAllAnswers + ofChanges
            + each([
                "type": ["\"juiceMade\"", "\"restocked\"", "\"rejected\""], "orderId": notTexts,
                "restockId": ["\"a\""], "returned": notObjects.filter { $0 != "{}" },
                "returned.*": notAmounts + ["0", "1000000001"], "left": notObjects.filter { $0 != "{}" },
                "left.*": levels, "used": ["{}"], "juice": ["\"kiwi\""], "items": ["[]"],
            ])
            + [
                // Fruits without levels, levels without fruits, and a change that changed nothing.
                Damage(edits: [("returned.*", "1"), ("left", "{}")]), Damage(edits: [("left.*", "1"), ("returned", "{}")]),
                Damage(edits: [("returned", "{}"), ("left", "{}"), ("revision", "1")]),
                Damage(edits: [("returned.*", "1"), ("revision", nil)]),
            ],
        "rejected": ofAllAnswers + ofOthers
            + each([
                "type": ["\"juiceMade\"", "\"outOfStock\"", "\"restocked\""], "left": ["{}"], "quantity": ["1"],
                "reason": [nil, "null", "7", "\"\"", "\"badWeather\"", "\"BadCommand\""],
            ])  // The reasons of orders are not those of restocks.
            + ["unknownJuice", "badQuantity", "cancelled"].map {
                Damage(edits: [("orderId", nil), ("restockId", "\"a\""), ("reason", "\"\($0)\"")])
            }
            + ["unknownFruit", "badAmount", "wouldGoNegative", "emptyRestock"].map {
                Damage(edits: [("restockId", nil), ("orderId", "\"a\""), ("reason", "\"\($0)\"")])
            } + [Damage(edits: [("orderId", "\"a\""), ("restockId", "\"a\"")])],
        "answerLost": ofAllAnswers + ofOthers
            + each([
                "type": ["\"juiceMade\"", "\"cancelled\"", "\"restocked\"", "\"rejected\""], "left": ["{}"], "quantity": ["1"],
                "was": [nil, "null", "7", "\"\"", "\"lost\"", "\"Made\""], "reason": ["\"badQuantity\""], "duplicate": [nil],
            ])
            + [
                // What became of an order is not what becomes of a restock.
                Damage(edits: [("orderId", nil), ("restockId", "\"a\""), ("was", "\"made\"")]),
                Damage(edits: [("restockId", nil), ("orderId", "\"a\""), ("was", "\"restocked\"")]),
                Damage(edits: [("orderId", "\"a\""), ("restockId", "\"a\"")]),
            ],
    ]

    private static let ofAllNotes = each([
        "type": [nil, "null", "7", "\"\"", "\"juiceMade\""], "orderId": ["\"a\""], "restockId": ["\"a\""],
        "store": ["\"s\""], "note": ["1"],
    ])
    private static let ofPlaces =
        ofAllNotes
        + each([
            "topic": [nil, "null", "7", "\"juice.orders\"", "\"results\""], "offset": notNumbers,
            "partition": notAmounts + ["2147483648"],
        ])
    private static let ofIDs =
        ofAllNotes + each(["ids": [nil, "null", "{}", "\"a\"", "[7]"], "orders": notAmounts, "restocks": notAmounts])
    private static let notOffsets: [String?] = [
        "null", "[]", "{}", #"{"orders":1}"#, #"{"orders/03":1}"#, #"{"stock/3":1}"#, #"{"orders/3":-1}"#,
    ]

    private static let ofNotes: [String: [Damage]] = [
        "forwarded": ofPlaces + each(["to": notAmounts + [nil, "2147483648"], "code": ["\"notJSON\""]]),
        "deadLetter": ofPlaces + each(["code": notTexts.dropLast() + [], "to": ["1"]]),
        "copy": ofPlaces + each(["to": ["1"], "type": ["\"forwarded\"", "\"deadLetter\"", "\"claim\""]]),
        "anchored": ofPlaces + each(["by": notTexts.dropLast() + [], "reason": ["null", "7", "{}"]]),
        "position": ofIDs
            + each(["stock": notNumbers, "claim": notNumbers, "added": notOffsets, "forwarded": notOffsets, "since": ["1"]]),
        "claim": ofIDs
            + each([
                "since": notNumbers, "fenced": ["null", "{}", "\"a\"", "[7]"], "partitions": notAmounts + [nil, "0"],
                "group": notTexts.dropLast() + [], "instance": notTexts.dropLast() + [], "stock": ["1"],
            ]),
    ]

    static let ofStock = each([
        "store": notTexts, "revision": notAmounts + ["0", nil, "9223372036854775808"], "stock": notObjects,
        "stock.*": levels, "note": ["1"], "type": ["\"stock\""],
    ])
}

// MARK: - Menus, about which their reader has the last word

extension Damage {
    static let ofMenus =
        each([
            "fruits": notObjects, "juices": notObjects, "note": ["1"], "$schema": ["\"menu.json\""],
            "fruits.0": ["null", "{}", "\"kiwi\""], "fruits.0.id": notTexts, "fruits.0.price": ["1"],
            "fruits.0.initialStock": levels + [nil, "0", "1000000000"], "fruits.0.name": notObjects,
            "fruits.0.name.en": notTexts, "fruits.0.name.ko": notTexts, "fruits.0.name.fr": ["\"kiwi\""],
            "juices.0": ["null", "{}"], "juices.0.id": notTexts, "juices.0.price": ["1"],
            "juices.0.name": notObjects, "juices.0.name.en": notTexts, "juices.0.recipe": notObjects,
            "juices.0.aliases": [
                "null", "\"x\"", "{}", "[]", "[7]", "[null]", "[\"\"]", "[\" \"]", "[\(tooLong)]",
                "[\(tooManyBytes)]", #"["x","X"]"#, #"["juice 2"]"#, #"["망고쥬스"]"#,
            ],
            "juices.0.recipe.*": notAmounts + ["0", "1000000000", "1000000001"],
            "juices.0.recipe.durian": ["1", "0"],
        ])
}
