import JuiceMessages

/// Commands, word for word, and how they are decoded: for the tests of the decoder and of the schemas.
///
/// Ids and names are those of the built-in menu.
public enum GoldenCommands {
    /// Valid orders, and how they are decoded.
    public static let orders: [(value: String, expected: String)] =
        [
            (
                #"{"orderId":"pos-7-000123","juice":"strawberryBanana","quantity":1}"#,
                "pos-7-000123: 1 strawberryBanana"
            ),
            (#"{"orderId":"a","juice":"kiwi"}"#, "a: 1 kiwi"),
            (#"{"orderId":"a","juice":"kiwi","quantity":100}"#, "a: 100 kiwi"),
            (#"{"orderId":"a","juice":"kiwi","quantity":null}"#, "a: 1 kiwi"),
            (#" {"quantity" : 2 , "juice" : "mango" , "orderId" : "b" } "#, "b: 2 mango"),
            ("\u{feff}{\"orderId\":\"a\",\"juice\":\"kiwi\"}", "a: 1 kiwi"),
            (#"{"order\u0049d":"\uac00\n","juice":"k\u0069wi"}"#, "가\n: 1 kiwi"),
            // Unknown fields are ignored, whatever they hold and however often.
            (
                #"{"x":{"orderId":1,"juice":[]},"orderId":"a","x":1e999,"juice":"kiwi","ORDERID":null,"":[[]]}"#,
                "a: 1 kiwi"
            ),
            (#"{"orderId":"a","juice":"kiwi","add":{"kiwi":1},"restockId":"b"}"#, "a: 1 kiwi"),
            (#"{"orderId":"a","juice":"kiwi","items":null,"cancel":null}"#, "a: 1 kiwi"),
            (#"{"orderId":"a","cancel":false,"juice":"kiwi"}"#, "a: 1 kiwi"),
        ] + baskets + cancels

    private static let baskets: [(value: String, expected: String)] = [
        (
            #"{"orderId":"pos-7-000124","items":[{"juice":"kiwi","quantity":2},{"juice":"strawberryBanana"}]}"#,
            "pos-7-000124: [2 kiwi, 1 strawberryBanana]"
        ),
        (#"{"orderId":"a","items":[{"juice":"kiwi"}]}"#, "a: [1 kiwi]"),
        (
            #"{"items":[{"quantity":100,"x":7,"juice":"k\u0069wi"}],"orderId":"a","juice":null}"#,
            "a: [100 kiwi]"
        ),
        (#"{"orderId":"a","items":[{"juice":"kiwi","quantity":null}],"quantity":null}"#, "a: [1 kiwi]"),
        // Added up, in the place of the first.
        (
            #"{"orderId":"a","items":[{"juice":"kiwi","quantity":100},{"juice":"mango"},{"juice":"kiwi","quantity":3}]}"#,
            "a: [103 kiwi, 1 mango]"
        ),
        (#"{"orderId":"a","items":[\#(items(20))]}"#, "a: [2000 kiwi]"),
        (#"{"orderId":"a","cancel":false,"items":[{"juice":"kiwi"}]}"#, "a: [1 kiwi]"),
    ]

    private static let cancels: [(value: String, expected: String)] = [
        (#"{"orderId":"pos-7-000124","cancel":true}"#, "pos-7-000124: cancel"),
        // Nothing else in a cancel is looked at.
        (#"{"orderId":"a","cancel":true,"juice":7,"juice":8,"items":[],"quantity":0}"#, "a: cancel"),
        (#"{"cancel":true,"orderId":"a","items":null,"x":[]}"#, "a: cancel"),
    ]

    /// So many items of 100 kiwi juices.
    private static func items(_ count: Int) -> String {
        Array(repeating: #"{"juice":"kiwi","quantity":100}"#, count: count).joined(separator: ",")
    }

    /// Orders that are rejected, and why.
    public static let rejectedOrders: [(value: String, expected: String)] =
        [
            (#"{"orderId":"a"}"#, "a: badCommand(JuiceMessages.Rejection.Fault.missingJuice)"),
            (#"{"orderId":"a","juice":null}"#, "a: badCommand(JuiceMessages.Rejection.Fault.missingJuice)"),
            (#"{"orderId":"a","juice":7}"#, "a: badCommand(JuiceMessages.Rejection.Fault.juiceNotText)"),
            (
                #"{"orderId":"a","juice":["kiwi"]}"#,
                "a: badCommand(JuiceMessages.Rejection.Fault.juiceNotText)"
            ),
            (
                #"{"orderId":"a","juice":"kiwi","juice":"kiwi"}"#,
                "a: badCommand(JuiceMessages.Rejection.Fault.repeatedField(JuiceMessages.Rejection.Field.juice))"
            ),
            (
                #"{"orderId":"a","juice":"kiwi","quantity":1,"quantity":null}"#,
                "a: badCommand(JuiceMessages.Rejection.Fault.repeatedField(JuiceMessages.Rejection.Field.quantity))"
            ),
            (#"{"orderId":"a","juice":"durian"}"#, #"a: unknownJuice("durian")"#),
            (#"{"orderId":"a","juice":""}"#, #"a: unknownJuice("")"#),
            (#"{"orderId":"a","juice":"Kiwi"}"#, #"a: unknownJuice("Kiwi")"#),
            (#"{"orderId":"a","juice":"pineappl"}"#, #"a: unknownJuice("pineappl")"#),
            (#"{"orderId":"a","juice":"kiwi","quantity":0}"#, "a: badQuantity"),
            (#"{"orderId":"a","juice":"kiwi","quantity":101}"#, "a: badQuantity"),
            (#"{"orderId":"a","juice":"kiwi","quantity":-1}"#, "a: badQuantity"),
            (#"{"orderId":"a","juice":"kiwi","quantity":1.5}"#, "a: badQuantity"),
            (#"{"orderId":"a","juice":"kiwi","quantity":1.0}"#, "a: badQuantity"),
            (#"{"orderId":"a","juice":"kiwi","quantity":1e1}"#, "a: badQuantity"),
            (#"{"orderId":"a","juice":"kiwi","quantity":9223372036854775807}"#, "a: badQuantity"),
            (#"{"orderId":"a","juice":"kiwi","quantity":9223372036854775808}"#, "a: badQuantity"),
            (#"{"orderId":"a","juice":"kiwi","quantity":18446744073709551617}"#, "a: badQuantity"),
            (#"{"orderId":"a","juice":"kiwi","quantity":"1"}"#, "a: badQuantity"),
            (#"{"orderId":"a","juice":"kiwi","quantity":true}"#, "a: badQuantity"),
            (#"{"orderId":"a","juice":"kiwi","quantity":[1]}"#, "a: badQuantity"),
            // The juice is judged before the quantity.
            (#"{"orderId":"a","quantity":0,"juice":"durian"}"#, #"a: unknownJuice("durian")"#),
        ] + rejectedBaskets

    private static let rejectedBaskets: [(value: String, expected: String)] = [
        // The flag comes first, then what is ordered, then how many.
        (#"{"orderId":"a","cancel":"true","juice":7}"#, fault("notBoolean(\(field).cancel)")),
        (#"{"orderId":"a","cancel":1}"#, fault("notBoolean(\(field).cancel)")),
        (#"{"orderId":"a","cancel":true,"cancel":true}"#, fault("repeatedField(\(field).cancel)")),
        (#"{"orderId":"a","cancel":false}"#, fault("missingJuice")),
        (#"{"orderId":"a","items":null}"#, fault("missingJuice")),
        (
            #"{"orderId":"a","juice":"kiwi","juice":"kiwi","items":[]}"#,
            fault("repeatedField(\(field).juice)")
        ),
        (#"{"orderId":"a","items":[],"items":[]}"#, fault("repeatedField(\(field).items)")),
        (#"{"orderId":"a","juice":"kiwi","items":[]}"#, fault("juiceAndItems")),
        (#"{"orderId":"a","quantity":1,"items":[{"juice":"kiwi"}]}"#, fault("quantityAndItems")),
        (#"{"orderId":"a","quantity":1,"items":7}"#, fault("quantityAndItems")),
        (#"{"orderId":"a","items":{"juice":"kiwi"}}"#, fault("notAnArray(\(field).items)")),
        (#"{"orderId":"a","items":[]}"#, fault("noItems")),
        (#"{"orderId":"a","items":[\#(items(21))]}"#, fault("tooManyItems")),
        (#"{"orderId":"a","items":["kiwi"]}"#, fault("itemNotAnObject")),
        (#"{"orderId":"a","items":[null]}"#, fault("itemNotAnObject")),
        (#"{"orderId":"a","items":[{}]}"#, fault("missingJuice")),
        (#"{"orderId":"a","items":[{"juice":null}]}"#, fault("missingJuice")),
        (#"{"orderId":"a","items":[{"juice":7}]}"#, fault("juiceNotText")),
        (
            #"{"orderId":"a","items":[{"juice":"kiwi","juice":"kiwi"}]}"#,
            fault("repeatedField(\(field).juice)")
        ),
        (
            #"{"orderId":"a","items":[{"juice":"kiwi","quantity":1,"quantity":1}]}"#,
            fault("repeatedField(\(field).quantity)")
        ),
        (#"{"orderId":"a","items":[{"juice":"kiwi","quantity":101}]}"#, "a: badQuantity"),
        // The items are judged in their order.
        (
            #"{"orderId":"a","items":[{"juice":"kiwi"},{"juice":"durian","quantity":0},{"juice":7}]}"#,
            #"a: unknownJuice("durian")"#
        ),
        (#"{"orderId":"a","items":[{"juice":"kiwi","quantity":0},{"juice":"durian"}]}"#, "a: badQuantity"),
    ]

    private static let field = "JuiceMessages.Rejection.Field"

    private static func fault(_ fault: String) -> String {
        "a: badCommand(JuiceMessages.Rejection.Fault.\(fault))"
    }

    /// Valid restocks, and how they are decoded.
    public static let restocks: [(value: String, expected: String)] = [
        (#"{"restockId":"r","add":{"strawberry":16,"kiwi":-2}}"#, "r: add strawberry 16, kiwi -2"),
        (#"{"restockId":"r","add":{"kiwi":-2,"strawberry":16}}"#, "r: add strawberry 16, kiwi -2"),
        (#"{"restockId":"r","set":{"mango":30}}"#, "r: set mango 30"),
        (#"{"restockId":"r","add":null,"set":{"mango":0}}"#, "r: set mango 0"),
        (#"{"set":{"mango":9223372036854775807},"restockId":"r"}"#, "r: set mango 9223372036854775807"),
        (#"{"restockId":"r","add":{"mango":-9223372036854775808}}"#, "r: add mango -9223372036854775808"),
        (#"{"restockId":"r","add":{"mango":0},"juice":7,"orderId":[]}"#, "r: add mango 0"),
    ]

    /// Restocks that are rejected, and why.
    public static let rejectedRestocks: [(value: String, expected: Rejection)] = [
        (#"{"restockId":"r"}"#, Rejection.emptyRestock),
        (#"{"restockId":"r","add":null}"#, .emptyRestock),
        (#"{"restockId":"r","add":{}}"#, .emptyRestock),
        (#"{"restockId":"r","set":{}}"#, .emptyRestock),
        (#"{"restockId":"r","add":{"kiwi":1},"set":{"kiwi":1}}"#, .badCommand(.addAndSet)),
        (#"{"restockId":"r","add":{},"set":[]}"#, .badCommand(.addAndSet)),
        (#"{"restockId":"r","add":[]}"#, .badCommand(.notAnObject(.add))),
        (#"{"restockId":"r","set":"kiwi"}"#, .badCommand(.notAnObject(.set))),
        (#"{"restockId":"r","add":{"kiwi":1},"add":{"kiwi":1}}"#, .badCommand(.repeatedField(.add))),
        (#"{"restockId":"r","set":null,"set":null}"#, .badCommand(.repeatedField(.set))),
        (#"{"restockId":"r","add":{"kiwi":1,"kiwi":1}}"#, .badCommand(.repeatedFruit(fruit: 3))),
        (#"{"restockId":"r","add":{"kiwi":1,"durian":1}}"#, .unknownFruit("durian")),
        (#"{"restockId":"r","add":{"kiwi":1.5}}"#, .badAmount(fruit: 3)),
        (#"{"restockId":"r","add":{"kiwi":null}}"#, .badAmount(fruit: 3)),
        (#"{"restockId":"r","add":{"kiwi":"1"}}"#, .badAmount(fruit: 3)),
        (#"{"restockId":"r","add":{"kiwi":9223372036854775808}}"#, .badAmount(fruit: 3)),
        (#"{"restockId":"r","set":{"kiwi":-9223372036854775809}}"#, .badAmount(fruit: 3)),
        // The fruits are judged one after the other.
        (#"{"restockId":"r","add":{"mango":{},"durian":1}}"#, .badAmount(fruit: 4)),
        (#"{"restockId":"r","add":{"durian":1,"mango":{}}}"#, .unknownFruit("durian")),
    ]

    /// Values of the orders topic that are not orders, and the codes of their dead letters.
    public static let deadLetters: [(value: String, code: String)] = [
        ("", "emptyValue"), (" ", "notJSON"), ("hello", "notJSON"),
        (#"{"orderId":"a","juice":"kiwi"}}"#, "notJSON"),
        ("[]", "notJSON"), (#""orderId""#, "notJSON"), ("null", "notJSON"), ("1", "notJSON"),
        (#"[{"orderId":"a","juice":"kiwi"}]"#, "notJSON"),
        (#"{"orderId":"a","juice":"kiwi","x":01}"#, "notJSON"),
        (
            #"{"orderId":"a","x":"# + String(repeating: "[", count: 128)
                + String(repeating: "]", count: 128) + "}",
            "tooDeep"
        ),
        ("{}", "missingID"), (#"{"juice":"kiwi"}"#, "missingID"), (#"{"orderId":null}"#, "missingID"),
        (#"{"orderid":"a","restockId":"b"}"#, "missingID"),
        (#"{"orderId":""}"#, "badID"), (#"{"orderId":7}"#, "badID"),
        (#"{"orderId":{"orderId":"a"}}"#, "badID"),
        (#"{"orderId":"a","orderId":"a"}"#, "badID"), (#"{"orderId":"a","orderId":null}"#, "badID"),
        (#"{"orderId":"\#(String(repeating: "x", count: 129))"}"#, "badID"),
        (#"{"orderId":"\#(String(repeating: "가", count: 43))"}"#, "badID"),
    ]
}
