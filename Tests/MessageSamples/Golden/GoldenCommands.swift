import JuiceMessages

/// Commands, word for word, and how they are decoded: for the tests of the decoder and of the schemas.
///
/// Ids and names are those of the built-in menu.
public enum GoldenCommands {
    /// Valid orders of one juice, and how they are decoded.
    public static let orders: [(value: String, expected: String)] = [
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
        (#"{"x":{"orderId":1,"juice":[]},"orderId":"a","x":1e999,"juice":"kiwi","ORDERID":null,"":[[]]}"#, "a: 1 kiwi"),
        (#"{"orderId":"a","juice":"kiwi","add":{"kiwi":1},"restockId":"b"}"#, "a: 1 kiwi"),
    ]

    /// Orders of one juice that are rejected, and why. The id of each is `a`.
    public static let rejectedOrders: [(value: String, expected: Rejection)] = [
        (#"{"orderId":"a"}"#, Rejection.badCommand(.missingJuice)), (#"{"orderId":"a","juice":null}"#, .badCommand(.missingJuice)),
        (#"{"orderId":"a","juice":7}"#, .badCommand(.juiceNotText)),
        (
            #"{"orderId":"a","juice":["kiwi"]}"#,
            .badCommand(.juiceNotText)
        ),
        (
            #"{"orderId":"a","juice":"kiwi","juice":"kiwi"}"#,
            .badCommand(.repeatedField(.juice))
        ),
        (
            #"{"orderId":"a","juice":"kiwi","quantity":1,"quantity":null}"#,
            .badCommand(.repeatedField(.quantity))
        ),
        (#"{"orderId":"a","juice":"durian"}"#, .unknownJuice("durian")),
        (#"{"orderId":"a","juice":""}"#, .unknownJuice("")),
        (#"{"orderId":"a","juice":"Kiwi"}"#, .unknownJuice("Kiwi")),
        (#"{"orderId":"a","juice":"pineappl"}"#, .unknownJuice("pineappl")),
        (#"{"orderId":"a","juice":"kiwi","quantity":0}"#, .badQuantity),
        (#"{"orderId":"a","juice":"kiwi","quantity":101}"#, .badQuantity),
        (#"{"orderId":"a","juice":"kiwi","quantity":-1}"#, .badQuantity),
        (#"{"orderId":"a","juice":"kiwi","quantity":1.5}"#, .badQuantity),
        (#"{"orderId":"a","juice":"kiwi","quantity":1.0}"#, .badQuantity),
        (#"{"orderId":"a","juice":"kiwi","quantity":1e1}"#, .badQuantity),
        (#"{"orderId":"a","juice":"kiwi","quantity":9223372036854775807}"#, .badQuantity),
        (#"{"orderId":"a","juice":"kiwi","quantity":9223372036854775808}"#, .badQuantity),
        (#"{"orderId":"a","juice":"kiwi","quantity":18446744073709551617}"#, .badQuantity),
        (#"{"orderId":"a","juice":"kiwi","quantity":"1"}"#, .badQuantity),
        (#"{"orderId":"a","juice":"kiwi","quantity":true}"#, .badQuantity),
        (#"{"orderId":"a","juice":"kiwi","quantity":[1]}"#, .badQuantity),
        // The juice is judged before the quantity.
        (#"{"orderId":"a","quantity":0,"juice":"durian"}"#, .unknownJuice("durian")),
    ]

    /// Baskets, and how they are decoded.
    public static let baskets: [(value: String, expected: String)] = [
        (
            #"{"orderId":"a","items":[{"juice":"kiwi","quantity":2},{"juice":"strawberryBanana"}]}"#,
            "a: [2 kiwi, 1 strawberryBanana]"
        ), (#"{"orderId":"a","items":[{"juice":"kiwi"}]}"#, "a: [1 kiwi]"),
        // A juice given twice is added up where it is first named, even beyond what one item may ask for.
        (
            #"{"orderId":"a","items":[{"juice":"kiwi","quantity":2},{"juice":"mango"},{"juice":"kiwi"}]}"#,
            "a: [3 kiwi, 1 mango]"
        ),
        (
            #"{"orderId":"a","items":["#
                + String(repeating: #"{"juice":"kiwi","quantity":100},"#, count: 19)
                + #"{"juice":"kiwi","quantity":100}]}"#,
            "a: [2000 kiwi]"
        ),
        (#"{"orderId":"a","juice":null,"quantity":null,"items":[{"juice":"kiwi"}]}"#, "a: [1 kiwi]"),
        (
            #"{"orderId":"a","items":[{"quantity":null,"x":[],"juice":"k\u0069wi","x":1,"items":[]}],"cancel":null}"#,
            "a: [1 kiwi]"
        ),
        (#"{"items":[{"juice":"mango"}],"cancel":false,"orderId":"b"}"#, "b: [1 mango]"),
        (#"{"orderId":"a","juice":"kiwi","items":null,"cancel":false}"#, "a: 1 kiwi"),
    ]

    /// Baskets that are rejected, and why. The id of each is `a`.
    public static let rejectedBaskets: [(value: String, expected: Rejection)] = rejectedAsAWhole + rejectedItems

    private static let rejectedAsAWhole: [(value: String, expected: Rejection)] = [
        (#"{"orderId":"a","items":null}"#, Rejection.badCommand(.missingJuice)),
        (#"{"orderId":"a","items":[],"items":[]}"#, .badCommand(.repeatedField(.items))),
        (#"{"orderId":"a","items":null,"items":[{"juice":"kiwi"}]}"#, .badCommand(.repeatedField(.items))),
        (#"{"orderId":"a","juice":"kiwi","items":[{"juice":"kiwi"}]}"#, .badCommand(.juiceAndItems)),
        (#"{"orderId":"a","items":[{"juice":"kiwi"}],"quantity":1}"#, .badCommand(.quantityAndItems)),
        (#"{"orderId":"a","items":{"juice":"kiwi"}}"#, .badCommand(.notAnArray(.items))),
        (#"{"orderId":"a","items":"kiwi"}"#, .badCommand(.notAnArray(.items))),
        (#"{"orderId":"a","items":false}"#, .badCommand(.notAnArray(.items))),
        (#"{"orderId":"a","items":[]}"#, .badCommand(.noItems)),
        (
            #"{"orderId":"a","items":["# + String(repeating: #"{"juice":"kiwi"},"#, count: 20)
                + #"{"juice":"kiwi"}]}"#,
            .badCommand(.tooManyItems)
        ),
        // Of several faults the first in the decoder's order counts.
        (#"{"orderId":"a","juice":7,"juice":7,"items":[],"items":[]}"#, .badCommand(.repeatedField(.juice))),
        (#"{"orderId":"a","juice":7,"items":[],"items":[]}"#, .badCommand(.repeatedField(.items))),
        (#"{"orderId":"a","juice":7,"items":[],"quantity":0}"#, .badCommand(.juiceAndItems)),
        (#"{"orderId":"a","items":[],"quantity":0}"#, .badCommand(.quantityAndItems)),
        (
            #"{"orderId":"a","items":7,"quantity":0,"quantity":null}"#,
            .badCommand(.repeatedField(.quantity))
        ),
        (
            #"{"orderId":"a","items":[7"# + String(repeating: ",7", count: 20) + "]}",
            .badCommand(.tooManyItems)
        ),
    ]

    private static let rejectedItems: [(value: String, expected: Rejection)] = [
        (#"[7]"#, Rejection.badCommand(.itemNotAnObject)),
        (#"[null]"#, .badCommand(.itemNotAnObject)),
        (#"["kiwi"]"#, .badCommand(.itemNotAnObject)),
        (#"[[{"juice":"kiwi"}]]"#, .badCommand(.itemNotAnObject)),
        (#"[{}]"#, .badCommand(.missingJuice)),
        (#"[{"juice":null}]"#, .badCommand(.missingJuice)),
        (#"[{"juice":"kiwi","juice":"kiwi"}]"#, .badCommand(.repeatedField(.juice))),
        (#"[{"juice":7}]"#, .badCommand(.juiceNotText)),
        (#"[{"juice":"durian"}]"#, .unknownJuice("durian")),
        (#"[{"juice":"kiwi","quantity":0}]"#, .badQuantity),
        (#"[{"juice":"kiwi","quantity":101}]"#, .badQuantity),
        (#"[{"juice":"kiwi","quantity":1.0}]"#, .badQuantity),
        (#"[{"juice":"kiwi","quantity":"1"}]"#, .badQuantity),
        (#"[{"juice":"kiwi","quantity":1,"quantity":1}]"#, .badCommand(.repeatedField(.quantity))),
        // Of one item, the juice is judged before the quantity; of several, the first with a fault.
        (#"[{"quantity":0,"quantity":0,"juice":"durian"}]"#, .unknownJuice("durian")),
        (#"[{"juice":"kiwi"},{"juice":"durian"},{"juice":"kiwi","quantity":0}]"#, .unknownJuice("durian")),
        (#"[{"juice":"kiwi","quantity":0},{"juice":"durian"},7]"#, .badQuantity),
    ].map { (#"{"orderId":"a","items":\#($0.0)}"#, $0.1) }

    /// Cancels. The id of each is `a`.
    public static let cancels = [
        #"{"orderId":"a","cancel":true}"#, #" {"c\u0061ncel" : true, "orderId" : "a"} "#,
        // Nothing else is looked at.
        #"{"orderId":"a","juice":"kiwi","quantity":2,"cancel":true}"#,
        #"{"orderId":"a","juice":7,"juice":[],"quantity":-1,"quantity":{},"cancel":true,"x":1}"#,
        #"{"orderId":"a","items":[],"juice":"durian","items":7,"cancel":true}"#,
    ]

    /// Commands that are rejected for what they say of a cancel, and why. The id of each is `a`.
    public static let rejectedCancels: [(value: String, expected: Rejection)] = [
        (#"{"orderId":"a","cancel":true,"cancel":true}"#, Rejection.badCommand(.repeatedField(.cancel))),
        (#"{"orderId":"a","juice":"kiwi","cancel":null,"cancel":false}"#, .badCommand(.repeatedField(.cancel))),
        (#"{"orderId":"a","cancel":1}"#, .badCommand(.notBoolean(.cancel))),
        (#"{"orderId":"a","cancel":"true"}"#, .badCommand(.notBoolean(.cancel))),
        (#"{"orderId":"a","cancel":[true]}"#, .badCommand(.notBoolean(.cancel))),
        // Before all faults of an order.
        (#"{"orderId":"a","juice":7,"juice":7,"items":[],"items":[],"cancel":0}"#, .badCommand(.notBoolean(.cancel))),
        // What is no cancel is an order.
        (#"{"orderId":"a","cancel":false}"#, .badCommand(.missingJuice)),
        (#"{"orderId":"a","cancel":null,"juice":"durian"}"#, .unknownJuice("durian")),
    ]

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
        ("", "emptyValue"), (" ", "notJSON"), ("hello", "notJSON"), (#"{"orderId":"a","juice":"kiwi"}}"#, "notJSON"),
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
