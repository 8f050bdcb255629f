/// What an order asks for: one juice, or a basket.
struct Order {
    /// A juice and how many of it.
    struct Item {
        let juice: Int
        var quantity: Int
    }

    /// In which of its two forms the order is written, and its answer with it.
    enum Form { case single, basket }

    let form: Form
    /// Each juice once, in the order in which the command first names it.
    let items: [Item]
    /// The sum of all recipes, in the order in which they first name each fruit.
    let needs: [AuditMenu.Amount]

    /// An order for one juice.
    init(_ item: Item, _ menu: AuditMenu) { self.init(.single, [item], menu) }

    /// An order for several, in which a juice may be given again.
    init(basket lines: [Item], _ menu: AuditMenu) {
        var items: [Item] = []
        for line in lines {
            if let place = items.firstIndex(where: { $0.juice == line.juice }) {
                items[place].quantity += line.quantity
            } else {
                items.append(line)
            }
        }
        self.init(.basket, items, menu)
    }

    private init(_ form: Form, _ items: [Item], _ menu: AuditMenu) {
        var needs: [AuditMenu.Amount] = []
        for item in items {
            for part in menu.juices[item.juice].recipe {
                let amount = part.amount * item.quantity
                if let place = needs.firstIndex(where: { $0.fruit == part.fruit }) {
                    needs[place].amount += amount
                } else {
                    needs.append(AuditMenu.Amount(fruit: part.fruit, amount: amount))
                }
            }
        }
        (self.form, self.items, self.needs) = (form, items, needs)
    }
}
