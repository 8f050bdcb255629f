// What commands and their items consist of, each found in one pass. Members with other names are ignored.

/// The members of a command, as they are given.
protocol CommandMembers {
    /// The member with the command's id.
    var id: JSONObject.Member { get }

    init(of object: JSONObject)
}

/// The members of a command on the orders topic.
struct OrderMembers: CommandMembers {
    private(set) var id = JSONObject.Member.absent
    private(set) var juice = JSONObject.Member.absent
    private(set) var quantity = JSONObject.Member.absent
    private(set) var items = JSONObject.Member.absent
    private(set) var cancel = JSONObject.Member.absent

    @inline(__always)
    init(of object: JSONObject) {
        for (key, value) in object {
            switch key {
            case "orderId": id.add(value)
            case "juice": juice.add(value)
            case "quantity": quantity.add(value)
            case "items": items.add(value)
            case "cancel": cancel.add(value)
            default: break
            }
        }
    }
}

/// The members of a basket's item.
struct ItemMembers {
    private(set) var juice = JSONObject.Member.absent
    private(set) var quantity = JSONObject.Member.absent

    @inline(__always)
    init(of object: JSONObject) {
        for (key, value) in object {
            switch key {
            case "juice": juice.add(value)
            case "quantity": quantity.add(value)
            default: break
            }
        }
    }
}

/// The members of a restock.
struct RestockMembers: CommandMembers {
    private(set) var id = JSONObject.Member.absent
    private(set) var add = JSONObject.Member.absent
    private(set) var set = JSONObject.Member.absent

    init(of object: JSONObject) {
        for (key, value) in object {
            switch key {
            case "restockId": id.add(value)
            case "add": add.add(value)
            case "set": set.add(value)
            default: break
            }
        }
    }
}
