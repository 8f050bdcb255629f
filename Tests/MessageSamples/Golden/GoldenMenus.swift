/// Invalid menu files, word for word: for the tests of the reader and of the schema.
public enum GoldenMenus {
    /// Each with its fault and the place of it.
    public static let malformed: [(json: String, problem: String)] = [
        ("", "not a JSON document in UTF-8"), ("[]", "not a JSON object"), ("{}", "fruits: missing"),
        (#"{"fruits":[]}"#, "juices: missing"),
        (#"{"fruits":{},"juices":[]}"#, "fruits: must be an array"),
        (#"{"fruits":[],"fruits":[],"juices":[]}"#, "fruits: given twice"),
        (#"{"fruits":[],"juices":[]}"#, "fruits: must not be empty"),
        (#"{"fruit":[],"juices":[]}"#, "fruit: unknown field; the fields here are fruits, juices"),
        (#"{"fruits":["kiwi"],"juices":[]}"#, "fruits[0]: must be an object"),
        (#"{"fruits":[{"id":"a"},{}],"juices":[]}"#, "fruits[1].id: missing"),
        (#"{"fruits":[{"id":7}],"juices":[]}"#, "fruits[0].id: must be a string"),
        (
            #"{"fruits":[{"id":"a"},{"id":"b","initalStock":1}],"juices":[]}"#,
            "fruits[1].initalStock: unknown field; the fields here are id, name, initialStock"
        ), (#"{"fruits":[{"id":"a","initialStock":1.5}],"juices":[]}"#, "fruits[0].initialStock: must be a whole number"),
        (
            #"{"fruits":[{"id":"a","initialStock":99999999999999999999}],"juices":[]}"#,
            "fruits[0].initialStock: must be a whole number"
        ),
        (#"{"fruits":[{"id":"a","name":"x"}],"juices":[]}"#, "fruits[0].name: must be an object"),
        (
            #"{"fruits":[{"id":"a","name":{"fr":"x"}}],"juices":[]}"#,
            "fruits[0].name.fr: unknown field; the fields here are en, ko"
        ),
        (
            #"{"fruits":[{"id":"a","name":{"ko":null}}],"juices":[]}"#,
            "fruits[0].name.ko: must be a string"
        ),
        (#"{"fruits":[{"id":"a"}],"juices":[{"id":"j"}]}"#, "juices[0].recipe: missing"),
        (
            #"{"fruits":[{"id":"a"}],"juices":[{"id":"j","recipe":[]}]}"#,
            "juices[0].recipe: must be an object"
        ),
        (
            #"{"fruits":[{"id":"a"}],"juices":[{"id":"j","recipe":{}}]}"#,
            "juices[0].recipe: must not be empty"
        ),
        (
            #"{"fruits":[{"id":"a"}],"juices":[{"id":"j","recipe":{"a":"1"}}]}"#,
            "juices[0].recipe.a: must be a whole number"
        ),
        (
            #"{"fruits":[{"id":"a"}],"juices":[{"id":"j","recipe":{"a":1,"a":1}}]}"#,
            "juices[0].recipe.a: this fruit is already in the recipe"
        ),
        (
            #"{"fruits":[{"id":"a"}],"juices":[{"id":"j","recipe":{"a":1}},{"id":"k","recipe":{"mango":1}}]}"#,
            "juices[1].recipe.mango: no fruit has this id"
        ),
        (
            #"{"fruits":[{"id":"a"}],"juices":[{"id":"j","recipe":{"a":1},"price":3}]}"#,
            "juices[0].price: unknown field; the fields here are id, name, aliases, recipe"
        ),
        (
            #"{"fruits":[{"id":"a"}],"juices":[{"id":"j","recipe":{"a":1},"aliases":"b"},{"id":"k","recipe":{"a":1}}]}"#,
            "juices[0].aliases: must be an array"
        ),
        (
            #"{"fruits":[{"id":"a"}],"juices":[{"id":"j","recipe":{"a":1},"aliases":["b",7]},{"id":"k","recipe":{"a":1}}]}"#,
            "juices[0].aliases[1]: must be a string"
        ),
        (
            #"{"fruits":[{"id":"a"}],"juices":[{"id":"j","recipe":{"a":1},"aliases":[""]},{"id":"k","recipe":{"a":1}}]}"#,
            "juices[0].aliases[0]: must not be empty"
        ),
        (
            #"{"fruits":[{"id":"a"}],"juices":[{"id":"j","recipe":{"a":1},"aliases":["b"," "]},{"id":"k","recipe":{"a":1}}]}"#,
            "juices[0].aliases[1]: must not be empty"
        ),
        (
            #"{"fruits":[{"id":"a"}],"juices":[{"id":"j","recipe":{"a":1},"aliases":["K"]},{"id":"k","recipe":{"a":1}}]}"#,
            #"juices[0].aliases[0]: already means the juice "k""#
        ),
    ]
}
